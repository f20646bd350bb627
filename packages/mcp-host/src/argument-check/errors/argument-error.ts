import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import { valueAt } from '../json/json-pointer.ts';
import { nodePrefix, type SchemaGraph } from '../schema/schema-graph.ts';
import { describeParameters } from './describe-schema.ts';
import type { Findings } from './find-violations.ts';
import { cut, describeValue } from './text.ts';
import type { Violation } from './violation.ts';

const maxViolations = 20;
const maxSuggestions = 5;
const maxPointer = 160;

/**
 * Tells a model all problems of its arguments, and which arguments the tool takes. The reported values are those that the caller wrote
 * (`given`), unless they exist only after the coercion (`coerced`).
 */
export function argumentError(
  graph: SchemaGraph,
  given: unknown,
  coerced: unknown,
  { violations, isCut = false }: Findings,
): ToolCallError {
  const sentences = [...new Set(violations.map((violation) => sentenceOf(violation, given, coerced)))];
  const shown = sentences.slice(0, maxViolations);
  if (sentences.length > shown.length) shown.push(`and ${sentences.length - shown.length} more`);
  if (isCut) shown.push('the arguments are too large to say what else');
  const intro =
    sentences.length === 1
      ? "the arguments don't fit the tool's schema"
      : `${sentences.length} things are wrong with the arguments`;
  const suggestions = violations.flatMap(({ suggestion }) =>
    suggestion ? [`did you mean '${suggestion.name}' instead of '${suggestion.given}'?`] : [],
  );
  return toolCallError('invalid_arguments', `${intro}: ${shown.join('; ')}`, {
    mayHaveRun: false,
    hint: [...new Set(suggestions)].slice(0, maxSuggestions).concat(parametersOf(graph)).join(' '),
  });
}

/** Tells a model that its arguments would cost too much to check. */
export function tooCostlyError(graph: SchemaGraph): ToolCallError {
  return toolCallError(
    'invalid_arguments',
    "the arguments are too large, or nest too deeply, to be checked against the tool's schema",
    { mayHaveRun: false, hint: `send less at once. ${parametersOf(graph)}` },
  );
}

function sentenceOf({ pointer, text, showsValue }: Violation, given: unknown, coerced: unknown): string {
  const place = pointer === '' ? 'the arguments' : cut(pointer, maxPointer);
  const found = showsValue ? (valueAt(given, pointer) ?? valueAt(coerced, pointer)) : undefined;
  return found ? `${place} ${text}, is ${describeValue(found.value)}` : `${place} ${text}`;
}

function parametersOf(graph: SchemaGraph): string {
  const text = describeParameters(graph, { $ref: nodePrefix + graph.root });
  return text === '' ? 'The tool names no parameters.' : `Parameters: ${text}`;
}
