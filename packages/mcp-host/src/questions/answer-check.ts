import { isExactNumber, isJsonObject, type QuestionMethod } from '@signalbox/protocol';

/** Returns the problem of an answer for its kind of question; `undefined` if it has none. The server checks the content itself. */
export function answerProblem(method: QuestionMethod, answer: unknown): string | undefined {
  if (!isJsonObject(answer)) return 'it is not an object';
  switch (method) {
    case 'elicitation/create':
      return elicitationProblem(answer);
    case 'sampling/createMessage':
      return samplingProblem(answer);
    case 'roots/list':
      return rootsProblem(answer);
  }
}

function elicitationProblem({ action, content }: Record<string, unknown>): string | undefined {
  if (action !== 'accept' && action !== 'decline' && action !== 'cancel')
    return 'its action must be accept, decline or cancel';
  if (content === undefined || content === null) return undefined;
  if (!isJsonObject(content)) return 'its content must be an object';
  return Object.values(content).every(isFieldValue)
    ? undefined
    : 'the values of its content must be texts, numbers, true or false, or lists of texts';
}

function isFieldValue(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((one) => typeof one === 'string');
  return ['string', 'number', 'boolean'].includes(typeof value) || isExactNumber(value);
}

function samplingProblem({ role, model, content }: Record<string, unknown>): string | undefined {
  if (role !== 'assistant' && role !== 'user') return 'its role must be assistant or user';
  if (typeof model !== 'string') return 'it must name the model';
  const blocks = Array.isArray(content) ? content : [content];
  const isContent =
    blocks.length > 0 && blocks.every((one) => isJsonObject(one) && typeof one.type === 'string');
  return isContent ? undefined : 'its content must have a type';
}

function rootsProblem({ roots }: Record<string, unknown>): string | undefined {
  const isList = Array.isArray(roots) && roots.every((root) => isJsonObject(root) && isFileUri(root.uri));
  return isList ? undefined : 'its roots must be a list of objects with a file: URI';
}

function isFileUri(uri: unknown): boolean {
  return typeof uri === 'string' && uri.startsWith('file://');
}
