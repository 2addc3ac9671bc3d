// Light or dark: what the system says, unless somebody chose. Paper is light.

import { DARK, LIGHT, type Colours } from './palette';
import { print } from './print.svelte';

export type Choice = 'system' | 'light' | 'dark';
const KEY = 'tilemark-theme';

function stored(): Choice {
  try {
    const found = localStorage.getItem(KEY);
    return found === 'light' || found === 'dark' ? found : 'system';
  } catch {
    return 'system';
  }
}

class Theme {
  choice: Choice = $state(stored());
  private readonly query = matchMedia('(prefers-color-scheme: dark)');
  private isSystemDark = $state(this.query.matches);

  readonly colours: Colours = $derived.by(() => {
    if (print.isOn) return LIGHT;
    const isDark = this.choice === 'dark' || (this.choice === 'system' && this.isSystemDark);
    return isDark ? DARK : LIGHT;
  });

  constructor() {
    this.query.addEventListener('change', (event) => (this.isSystemDark = event.matches));
  }

  choose(choice: Choice): void {
    this.choice = choice;
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // A page opened from a file may not be allowed to keep anything.
    }
  }

  /** Style variables of the colours. */
  variables(): string {
    const { kinds, classes, many, name, ...plain } = this.colours;
    const all = { ...plain, ...kinds };
    const text = Object.entries(all).map(([key, value]) => `--${key}:${value}`);
    classes.forEach((colour, position) => text.push(`--class-${position}:${colour}`));
    many.forEach((colour, position) => text.push(`--many-${position}:${colour}`));
    return `${text.join(';')};color-scheme:${name}`;
  }
}

export const theme = new Theme();
