import { type Document, type ErrorCode, isNode, isScalar, visit } from 'yaml';

/** The rule whether a document may hold aliases (`*name`). */
export type AliasRule = 'aliases allowed' | 'aliases refused';

/** A problem of the text itself, which is found before its keys are read. */
export interface SyntaxProblem {
  /** Counts the characters of the text. */
  offset: number;
  message: string;
}

/** The most problems that are listed. */
const maxProblems = 20;

/** Says in the words of a person what the library says in those of YAML's grammar. */
const plainWords: { readonly [Code in ErrorCode]?: string } = {
  BAD_ALIAS: `a text that begins with * needs quotes, as in "*"`,
  BAD_INDENT: "the indentation is wrong here, or a '{' or '[' before it is not closed",
  BAD_SCALAR_START: 'a text that begins with this character needs quotes',
  BLOCK_AS_IMPLICIT_KEY:
    "a second 'key: value' begins inside a value: put it on a line of its own, or quote the value",
  DUPLICATE_KEY: 'this key is there twice',
  MULTILINE_IMPLICIT_KEY: "this is no 'key: value': a colon is missing, or the indentation is wrong",
  MULTIPLE_DOCS: 'a second document begins here; one file holds one',
  TAB_AS_INDENT: 'lines are indented with spaces, not with tabs',
  UNEXPECTED_TOKEN: 'this does not belong here: look for a missing quote, bracket or comma before it',
};

/** The errors that do not make others. */
const isAlone: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['DUPLICATE_KEY', 'MULTIPLE_DOCS']);

/** Lists the problems that keep a document from being read as plain data: syntax errors, dangling or multiplying aliases, unsafe keys. */
export function syntaxProblems(document: Document, aliases: AliasRule): SyntaxProblem[] {
  const problems = [...parseErrors(document), ...nodeProblems(document, aliases)];
  return problems.slice(0, maxProblems);
}

/** Lists the errors of the text. Of those that may follow from one another there is only the first. */
function parseErrors(document: Document): SyntaxProblem[] {
  const first = document.errors.find(({ code }) => !isAlone.has(code));
  const errors = document.errors.filter((error) => error === first || isAlone.has(error.code));
  return errors.map(({ pos, code, message }) => ({ offset: pos[0], message: plainWords[code] ?? message }));
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
      // An alias without a name is a problem of the text already.
      if (node.source === '') return;
      if (aliases === 'aliases refused')
        add(node, 'aliases are not read here; write out what this one means');
      else if (!node.resolve(document))
        add(
          node,
          `the alias *${node.source} stands for nothing before it; put a text that begins with * in quotes`,
        );
    },
    Pair(_, { key }) {
      if (!isScalar(key)) add(key, 'a key must be a plain text');
      else if (key.value === '__proto__') add(key, "'__proto__' cannot be a name");
    },
  });
  if (
    problems.length === 0 &&
    document.errors.length === 0 &&
    aliases === 'aliases allowed' &&
    !isReadable(document)
  ) {
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
