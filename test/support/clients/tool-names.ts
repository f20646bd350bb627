/**
 * Returns true if a client may show a tool by this name: it may put the name of the server before it, replace characters, add a hash, and
 * cut a long name.
 */
export function showsTool(shown: string, tool: string): boolean {
  const words = tool.replace(/x{8,}$/, '').replaceAll(/[^A-Za-z0-9]/g, '.');
  const rest = words.length < tool.length ? '.*' : '([-_][0-9a-z]{6,12})?';
  return new RegExp(`(^|[-_])${words}${rest}$`).test(shown);
}
