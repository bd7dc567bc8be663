// Where a name of a layer or a kernel may break: behind what joins its words, and before a bracket that opens.
export const pieces = (name: string): string[] =>
  name.split(/(?<=::|[/,_.;>)\]-](?![/,_.;>)\]:-]))(?=.)|(?<=\w)(?=[<(])/);
