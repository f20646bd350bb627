import { type Document, isScalar, visit } from 'yaml';

/** Finds `{name}` without quotes, which YAML reads as a mapping, although its author meant a placeholder. */
export function unquotedPlaceholders(document: Document): { offset: number; message: string }[] {
  const problems: { offset: number; message: string }[] = [];
  visit(document, {
    Map(_, node) {
      const [only, ...more] = node.items;
      if (node.flow && only && more.length === 0 && only.value === null && isScalar(only.key)) {
        const name = String(only.key.value);
        const message = `{${name}} without quotes is a mapping in YAML; write "{${name}}"`;
        problems.push({ offset: node.range?.[0] ?? 0, message });
      }
    },
  });
  return problems;
}
