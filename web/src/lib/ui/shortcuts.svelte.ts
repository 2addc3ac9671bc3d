// Whether single keys work, and what they opened.

const KEY = 'tilemark-shortcuts';

class Shortcuts {
  /** Single keys can be switched off: speech input may press them by accident (WCAG 2.1.4). */
  isOn = $state(read());
  isHelpOpen = $state(false);
  isSearchOpen = $state(false);
  /** What is typed into the search while it is open: maps and lists follow it. */
  searched = $state('');

  set(isOn: boolean): void {
    this.isOn = isOn;
    try {
      localStorage.setItem(KEY, isOn ? 'on' : 'off');
    } catch {
      // Nothing can be kept here.
    }
  }
}

function read(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'off';
  } catch {
    return true;
  }
}

export const shortcuts = new Shortcuts();
