import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import { valueAt } from './json-pointer.ts';
import type { SchemaGraph } from './schema-graph.ts';
import { nodePrefix } from './schema-graph.ts';
import { describeParameters } from './schema-text.ts';
import { cut, describeValue } from './value-text.ts';
import type { Violation } from './violation-text.ts';
import type { Findings } from './violations.ts';

const maxViolations = 20;
const maxSuggestions = 5;
const maxPointer = 160;

/** Tells a model all that is wrong with its arguments and what the tool takes. `given`: as the caller wrote them. */
export function argumentError(
  graph: SchemaGraph,
  given: unknown,
  rewritten: unknown,
  { violations, cut: isCut = false }: Findings,
): ToolCallError {
  const texts = [...new Set(violations.map((violation) => sentence(violation, given, rewritten)))];
  const shown = texts.slice(0, maxViolations);
  if (texts.length > shown.length) shown.push(`and ${texts.length - shown.length} more`);
  if (isCut) shown.push('the arguments are too large to say what else');
  const intro =
    texts.length === 1
      ? "the arguments don't fit the tool's schema"
      : `${texts.length} things are wrong with the arguments`;
  const meant = violations.flatMap(({ meant }) =>
    meant ? [`did you mean '${meant.name}' instead of '${meant.given}'?`] : [],
  );
  return toolCallError('invalid_arguments', `${intro}: ${shown.join('; ')}`, {
    mayHaveRun: false,
    hint: [...new Set(meant)].slice(0, maxSuggestions).concat(parameters(graph)).join(' '),
  });
}

/** For arguments that would cost too much to check. */
export function tooCostlyError(graph: SchemaGraph): ToolCallError {
  return toolCallError(
    'invalid_arguments',
    "the arguments are too large, or nest too deeply, to be checked against the tool's schema",
    { mayHaveRun: false, hint: `send less at once. ${parameters(graph)}` },
  );
}

function sentence({ pointer, text, showsValue }: Violation, given: unknown, rewritten: unknown): string {
  const place = pointer === '' ? 'the whole' : cut(pointer, maxPointer);
  const found = showsValue ? (valueAt(given, pointer) ?? valueAt(rewritten, pointer)) : undefined;
  return found ? `${place} ${text}, is ${describeValue(found.value)}` : `${place} ${text}`;
}

function parameters(graph: SchemaGraph): string {
  const text = describeParameters(graph, { $ref: nodePrefix + graph.root });
  return text === '' ? 'The tool names no parameters.' : `Parameters: ${text}`;
}
