import { type Document, isScalar, visit } from 'yaml';

/** A problem in the text itself. `offset` counts the characters of the file. */
export interface SyntaxProblem {
  offset: number;
  message: string;
}

/** The most problems that are reported: after one slip, YAML complains about much that follows. */
const maxProblems = 5;

/** Finds what keeps a document from being read as plain data, and what YAML reads differently than its writer meant it. */
export function syntaxProblems(document: Document): SyntaxProblem[] {
  const problems: SyntaxProblem[] = document.errors.map(({ pos, message }) => ({ offset: pos[0], message }));
  const add = (node: { range?: readonly number[] | null | undefined }, message: string): void => {
    problems.push({ offset: node.range?.[0] ?? 0, message });
  };
  visit(document, {
    Alias(_, node) {
      add(node, 'aliases are not read here; write out what this one means');
    },
    Map(_, node) {
      const [only, ...more] = node.items;
      if (node.flow && only && more.length === 0 && only.value === null && isScalar(only.key)) {
        const name = String(only.key.value);
        add(node, `{${name}} without quotes is a mapping in YAML; write "{${name}}"`);
      }
    },
    Pair(_, { key }) {
      if (!isScalar(key)) problems.push({ offset: 0, message: 'a key must be a plain text' });
      else if (key.value === '__proto__') add(key, "'__proto__' cannot be a name");
    },
  });
  return problems.slice(0, maxProblems);
}
