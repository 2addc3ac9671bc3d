// Pages that are loaded together once one of them is asked for: what they share is packed once.

export { default as compare } from './Compare.svelte';
export { default as latency } from './Latency.svelte';
export { default as map } from './Map.svelte';
export { default as runs } from './Runs.svelte';
export { default as study } from './Study.svelte';
export { default as tier } from './Tier.svelte';
export { default as trend } from './Trend.svelte';
export { default as workload } from './Workload.svelte';
