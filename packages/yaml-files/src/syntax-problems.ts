import { type Document, isNode, isScalar, visit } from 'yaml';

/** The rule whether a document may hold aliases (`*name`). */
export type AliasRule = 'aliases allowed' | 'aliases refused';

/** A problem of the text itself, which is found before its keys are read. */
export interface SyntaxProblem {
  /** Counts the characters of the text. */
  offset: number;
  message: string;
}

/** The most problems that are listed: after one slip, YAML complains about much that follows. */
const maxProblems = 20;

/** Lists the problems that keep a document from being read as plain data: syntax errors, dangling or multiplying aliases, unsafe keys. */
export function syntaxProblems(document: Document, aliases: AliasRule): SyntaxProblem[] {
  const problems = [...parseErrors(document), ...nodeProblems(document, aliases)];
  return problems.slice(0, maxProblems);
}

function parseErrors(document: Document): SyntaxProblem[] {
  return document.errors.map(({ pos, code, message }) => ({
    offset: pos[0],
    message: code === 'MULTIPLE_DOCS' ? 'a second document begins here; one file holds one' : message,
  }));
}

function nodeProblems(document: Document, aliases: AliasRule): SyntaxProblem[] {
  const problems: SyntaxProblem[] = [];
  let firstAlias: unknown;
  const add = (node: unknown, message: string): void => {
    problems.push({ offset: (isNode(node) && node.range?.[0]) || 0, message });
  };
  visit(document, {
    Alias(_, node) {
      firstAlias ??= node;
      if (aliases === 'aliases refused')
        add(node, 'aliases are not read here; write out what this one means');
      else if (!node.resolve(document)) add(node, `the alias *${node.source} stands for nothing before it`);
    },
    Pair(_, { key }) {
      if (!isScalar(key)) add(key, 'a key must be a plain text');
      else if (key.value === '__proto__') add(key, "'__proto__' cannot be a name");
    },
  });
  if (problems.length === 0 && aliases === 'aliases allowed' && !isReadable(document)) {
    add(firstAlias, 'the aliases stand for far too much; write out what they mean');
  }
  return problems;
}

/** Returns false if aliases of aliases would multiply without end. */
function isReadable(document: Document): boolean {
  try {
    document.toJS();
    return true;
  } catch {
    return false;
  }
}
