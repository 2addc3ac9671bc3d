/// <reference types="svelte" />
/// <reference types="vite/client" />

/** Whether this is the page of one file that carries its data. */
declare const __REPORT__: boolean;
