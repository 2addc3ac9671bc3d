// What all tests of the page share.

import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

export const FINISHED = 'ladder-10';
export const LIVE = 'live-3';

/** Every page with a run where it needs one. */
export const PAGES = (id: string): [string, string][] => [
  ['overview', `/run/${id}`],
  ['workload', `/run/${id}/workload`],
  ['latency', `/run/${id}/latency`],
  ['map', `/run/${id}/map`],
  ['tier', `/run/${id}/tier`],
];

export const OTHERS: [string, string][] = [
  ['runs', '/'],
  ['compare', '/compare?a=ladder-10&b=tier-4'],
  ['trend', '/trend?runs=ladder-10,tier-4,big-100'],
  ['study', '/study/vsan-6'],
];

/** Opens a page and waits until nothing is loading. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await settled(page);
}

export async function settled(page: Page): Promise<void> {
  await expect(page.locator('main')).toBeVisible();
  await expect(page.locator('[aria-busy="true"]')).toHaveCount(0, { timeout: 20_000 });
}

/** Errors of the page, collected from now on. */
export function errors(page: Page): string[] {
  const found: string[] = [];
  page.on('pageerror', (error) => found.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error') found.push(message.text());
  });
  return found;
}

/** Rules whose outcome another theme or another width may change; all others look at words and roles. */
export const OF_COLOURS = ['color-contrast', 'link-in-text-block'];
export const OF_WIDTH = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size', 'aria-hidden-focus'];

/** No violation of WCAG 2.2 A and AA that can be found by a program; of some rules only, if they are named. */
export async function accessible(page: Page, rules?: string[]): Promise<void> {
  const axe = new AxeBuilder({ page });
  if (rules) axe.withRules(rules);
  else axe.withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']);
  const result = await axe.analyze();
  const words = result.violations.map((violation) => `${violation.id}: ${violation.help}\n  ${violation.nodes.slice(0, 3).map((node) => `${node.target.join(' ')} ${node.failureSummary ?? ''}`).join('\n  ')}`);
  expect(words).toEqual([]);
}

/** The chart of a title. */
export const chart = (page: Page, title: string) => page.locator('figure.chart', { has: page.locator('h2, h3', { hasText: title }) }).first();

/** What a third party needs is on paper, and nothing to click is; `ground` is what it stood on: a machine or a model. */
export async function printed(page: Page, ground: string): Promise<void> {
  for (const gone of ['.lens', 'nav', '.tools', '.details']) await expect(page.locator(gone).first()).toBeHidden();
  await expect(page.locator('details:not([open])')).toHaveCount(0);
  const text = (await page.locator('main').innerText()).replaceAll('\u00a0', ' ');
  for (const wanted of ['Seed', 'Tilemark', 'Plan, SHA-256', 'Engine', 'Every verdict with its samples and interval', 'Samples', 'Interval', 'Plan: ', ground, 'plan.toml', 'Checksums of the run’s files']) {
    expect(text).toContain(wanted);
  }
  expect(text).toMatch(/warning|No warnings/);
}
