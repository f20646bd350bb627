/** Writes a path as in `roles.researcher.tools[0]`. The path of the whole document is `(top level)`. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    text += typeof step === 'number' ? `[${step}]` : `${text === '' ? '' : '.'}${String(step)}`;
  }
  return text === '' ? '(top level)' : text;
}
