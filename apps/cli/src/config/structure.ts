import { type Document, isNode, isScalar, visit } from 'yaml';

/** Something wrong with the text itself, before any of our words are looked at. */
export interface StructuralProblem {
  offset: number;
  path: string;
  message: string;
}

const maxProblems = 20;

/** What keeps a document from being read as plain data: broken syntax, dangling or multiplying aliases, unsafe keys. */
export function structuralProblems(document: Document): StructuralProblem[] {
  const problems = [...syntaxProblems(document), ...nodeProblems(document)];
  return problems.slice(0, maxProblems);
}

function syntaxProblems(document: Document): StructuralProblem[] {
  return document.errors.map(({ pos, code, message }) => ({
    offset: pos[0],
    path: '(syntax)',
    message: code === 'MULTIPLE_DOCS' ? 'a second document begins here; one file holds one' : message,
  }));
}

function nodeProblems(document: Document): StructuralProblem[] {
  const problems: StructuralProblem[] = [];
  let firstAlias: unknown;
  const add = (node: unknown, message: string): void => {
    problems.push({ offset: (isNode(node) && node.range?.[0]) || 0, path: '(syntax)', message });
  };
  visit(document, {
    Alias(_, node) {
      firstAlias ??= node;
      if (!node.resolve(document)) add(node, `the alias *${node.source} stands for nothing before it`);
    },
    Pair(_, { key }) {
      if (!isScalar(key)) add(key, 'a key must be a plain text');
      else if (key.value === '__proto__') add(key, "'__proto__' cannot be a name");
    },
  });
  if (problems.length === 0 && !isReadable(document)) {
    add(firstAlias, 'the aliases stand for far too much; write out what they mean');
  }
  return problems;
}

/** False where aliases of aliases would multiply without end. */
function isReadable(document: Document): boolean {
  try {
    document.toJS();
    return true;
  } catch {
    return false;
  }
}
