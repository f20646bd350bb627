import { isInputRequired, isJsonObject, visibleLine } from '@signalbox/protocol';

/**
 * Returns a result in which each question for people begins with the name of the server that asks. People see questions of all hosted
 * servers from one client, and one server could ask in the name of another.
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
  const message = `The MCP server '${visibleLine(server)}' asks: ${params.message}`;
  return { ...question, params: { ...params, message } };
}
