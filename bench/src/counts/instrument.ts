import { parseSync } from 'rolldown/utils';
import { enteredName } from './counts.ts';

interface FunctionNode {
  type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression';
  body: { type: string; start: number; end: number };
}

/**
 * Returns the source of a module of JavaScript in which each function first calls the global function {@link enteredName} with the name of
 * the file. No line moves. Throws if the source cannot be parsed.
 */
export function instrumented(source: string, file: string): string {
  const { program, errors } = parseSync('module.js', source);
  if (errors.length > 0) throw new Error(`${file}: ${errors.map(({ message }) => message).join('; ')}`);
  const call = `${enteredName}(${JSON.stringify(file)})`;
  const insertions: { at: number; text: string }[] = [];
  for (const { body } of functionsIn(program)) {
    if (body.type === 'BlockStatement') insertions.push({ at: body.start + 1, text: `${call};` });
    else insertions.push({ at: body.start, text: `(${call},` }, { at: body.end, text: ')' });
  }
  let text = '';
  let copied = 0;
  for (const insertion of insertions.sort((a, b) => a.at - b.at)) {
    text += source.slice(copied, insertion.at) + insertion.text;
    copied = insertion.at;
  }
  return text + source.slice(copied);
}

function* functionsIn(node: object): Iterable<FunctionNode> {
  if (isFunction(node)) yield node;
  for (const part of Object.values(node)) {
    if (typeof part === 'object' && part !== null) yield* functionsIn(part);
  }
}

function isFunction(node: object): node is FunctionNode {
  return (
    'type' in node && /^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(`${node.type}`)
  );
}
