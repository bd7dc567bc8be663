// The theme: light, dark, or the system's; remembered if the browser allows it.
export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'xsp-theme';

export function rememberedTheme(): Theme {
  try {
    const known = localStorage.getItem(KEY);
    return known === 'light' || known === 'dark' ? known : 'auto';
  } catch {
    return 'auto'; // a page from disk may have no storage
  }
}

export function setTheme(theme: Theme) {
  if (theme === 'auto') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return; // the choice lasts as long as the page
  }
}
