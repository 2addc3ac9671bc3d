// Claims of a study: words, order, counts.

import type { StudyClaim } from '../api/types';
import type { Table } from '../chart/table';

export const KIND_WORDS: Readonly<Record<string, string>> = {
  predicted: 'the model was asked without having seen it: only these count',
  calibrated: 'the model was fitted to it, so that it fits says little',
  input: 'it was put into the model',
  arithmetic: 'it follows from other published numbers',
};

export const OUTCOMES: Readonly<Record<string, { icon: string; word: string; colour: string }>> = {
  met: { icon: '✓', word: 'Met', colour: 'var(--good)' },
  'not-met': { icon: '✕', word: 'Not met', colour: 'var(--bad)' },
  'not-measured': { icon: '○', word: 'Not measured', colour: 'var(--warning)' },
};

export const outcomeLook = (outcome: string): { icon: string; word: string; colour: string } =>
  OUTCOMES[outcome] ?? { icon: '●', word: outcome, colour: 'var(--ink)' };

const ORDER = ['predicted', 'calibrated', 'input', 'arithmetic'];

/** Kinds that occur, what counts first. */
export function kindsOf(claims: readonly StudyClaim[]): string[] {
  const place = (kind: string): number => (ORDER.includes(kind) ? ORDER.indexOf(kind) : ORDER.length);
  return [...new Set(claims.map((claim) => claim.kind))].sort((a, b) => place(a) - place(b));
}

/** Claims of one kind and outcome; empty texts stand for all. */
export const findClaims = (claims: readonly StudyClaim[], kind: string, outcome: string): StudyClaim[] =>
  claims.filter((claim) => (!kind || claim.kind === kind) && (!outcome || claim.outcome === outcome));

/** Claims as a table to take away. */
export function claimsTable(claims: readonly StudyClaim[]): Table {
  const columns = ['Claim', 'Text', 'Kind', 'Published', 'Ours', 'May be off by', 'Outcome', 'Why'];
  return {
    columns: columns.map((label) => ({ label, unit: 'text' as const })),
    rows: claims.map((claim) => [
      claim.id, claim.text, claim.kind, claim.published, claim.ours, claim.tolerance, claim.outcome, claim.outcome_text,
    ]),
  };
}

export interface Piece {
  kind: 'plain' | 'strong' | 'stress' | 'code';
  text: string;
}

/** Pieces of a text with `**strong**`, `*stressed*` and `` `code` `` words. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(/\*\*([^*]+)\*\*|\*(\S(?:[^*]*\S)?)\*|`([^`]+)`/g)) {
    if (match.index > at) found.push({ kind: 'plain', text: text.slice(at, match.index) });
    const [whole, strong, stress, code] = match;
    if (strong !== undefined) found.push({ kind: 'strong', text: strong });
    else if (stress !== undefined) found.push({ kind: 'stress', text: stress });
    else found.push({ kind: 'code', text: code ?? '' });
    at = match.index + whole.length;
  }
  if (at < text.length) found.push({ kind: 'plain', text: text.slice(at) });
  return found;
}
