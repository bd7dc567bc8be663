// The levels of the stack, outermost first: level n is LEVELS[n - 1].
export const LEVELS = ['application', 'model', 'layer', 'library', 'api', 'kernel'];
