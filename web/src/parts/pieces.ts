// Splits a name of a layer or a kernel where it may break: behind characters that join words, and before an
// opening bracket.
export const pieces = (name: string): string[] =>
  name.split(/(?<=::|[/,_.;>)\]-](?![/,_.;>)\]:-]))(?=.)|(?<=\w)(?=[<(])/);
