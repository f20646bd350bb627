import { isDeeperThan, isInputRequired, isJsonObject } from '@signalbox/protocol';
import { visible, visibleLine } from '@signalbox/protocol/internal';
import { visibleSchema } from '../definitions/visible-definition.ts';

/** The depth to which a form is renamed. A form has one level of fields; a schema that nests deeper is passed on unchanged. */
const maxDepth = 60;

/**
 * Returns a result in which each question for people begins with the name of the server that asks, and shows invisible characters. People
 * see questions of all hosted servers from one client, and one server could ask in the name of another.
 */
export function withNamedQuestions(server: string, result: Record<string, unknown>): Record<string, unknown> {
  if (!isInputRequired(result) || !isJsonObject(result.inputRequests)) return result;
  const inputRequests = Object.entries(result.inputRequests).map(([key, question]) => [
    key,
    named(server, question),
  ]);
  return { ...result, inputRequests: Object.fromEntries(inputRequests) };
}

function named(server: string, question: unknown): unknown {
  if (!isJsonObject(question) || question.method !== 'elicitation/create') return question;
  const { params } = question;
  if (!isJsonObject(params) || typeof params.message !== 'string') return question;
  const message = `The MCP server '${visibleLine(server)}' asks: ${visible(params.message)}`;
  const { requestedSchema: schema } = params;
  const isShown = schema !== undefined && !isDeeperThan(schema, maxDepth);
  return {
    ...question,
    params: { ...params, message, ...(isShown && { requestedSchema: visibleSchema(schema) }) },
  };
}
