import { type Document, isScalar, visit } from 'yaml';
import { keyOffset, parseYamlDocuments, pathText, schemaProblems } from '../../yaml-files/index.ts';
import { type CapabilityDocument, capabilitySchema } from '../document/capability-document.ts';

/** A problem in a file. Lines and columns count from 1. */
export interface FileProblem {
  line: number;
  column: number;
  /** The path of the part that has the problem, such as `providers.primary.config.path`. */
  path: string;
  message: string;
}

/** A valid document. */
export interface ParsedDocument {
  document: CapabilityDocument;
  /** Returns a problem with the place of a part of the document in the text. */
  problemAt(path: readonly PropertyKey[], message: string): FileProblem;
}

/** Parses a capability file: YAML or JSON, one tool per document. Every problem of the documents that are not valid is in `problems`. */
export function parseCapabilityFile(text: string): { documents: ParsedDocument[]; problems: FileProblem[] } {
  const documents: ParsedDocument[] = [];
  const problems: FileProblem[] = [];
  for (const { document: yaml, syntaxProblems, placeAt } of parseYamlDocuments(text, 'aliases refused')) {
    const syntax = [...syntaxProblems, ...unquotedPlaceholders(yaml)];
    problems.push(
      ...syntax.map(({ offset, message }) => ({ ...placeAt(offset), path: '(syntax)', message })),
    );
    if (syntax.length > 0 || isEmpty(yaml.contents)) continue;
    const problemAt = (path: readonly PropertyKey[], message: string): FileProblem => ({
      ...placeAt(keyOffset(yaml, path)),
      path: pathText(path),
      message,
    });
    const raw: unknown = yaml.toJS();
    const { data, error } = capabilitySchema.safeParse(raw);
    if (data) documents.push({ document: data, problemAt });
    for (const { at, key, message } of error ? schemaProblems(error, capabilitySchema, raw) : []) {
      problems.push(problemAt(key === undefined ? at : [...at, key], message));
    }
  }
  return { documents, problems };
}

function isEmpty(contents: unknown): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}

/** Finds `{name}` without quotes, which YAML reads as a mapping, although its author meant a placeholder. */
function unquotedPlaceholders(document: Document): { offset: number; message: string }[] {
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
