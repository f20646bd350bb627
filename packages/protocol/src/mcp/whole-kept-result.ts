import { readJson } from '../wire/exact-json.ts';
import { isJsonObject } from '../wire/parse-json.ts';
import { keptRangeMeta, keptResultUri, parseKeptResultUri } from './kept-result.ts';
import type { KeptAnswer } from './mcp-reply.ts';

type Answer = Record<string, unknown>;

/**
 * Reads a kept result from its beginning to its end, part by part. A URI that names a range or a content block is read as it is. `ask`
 * reads one URI.
 */
export async function readWholeKept(ask: (uri: string) => Promise<Answer>, uri: string): Promise<Answer> {
  const asked = parseKeptResultUri(uri);
  if ('problem' in asked || uri !== keptResultUri(asked.id, asked.part)) return await ask(uri);
  const texts: string[] = [];
  for (let at = uri; ; ) {
    const answer = await ask(at);
    const [content] = Array.isArray(answer.contents) ? answer.contents : [];
    if (!isJsonObject(content) || typeof content.text !== 'string') return answer;
    texts.push(content.text);
    const next = nextOf(answer);
    if (next === undefined) return { contents: [{ ...content, uri, text: texts.join('') }] };
    at = next;
  }
}

/**
 * Returns the answer of a server that is kept because it is longer than a message. `kept` is the reply that stands for it, and `ask` reads
 * one URI.
 */
export async function readKeptAnswer(
  ask: (uri: string) => Promise<Answer>,
  { uri }: KeptAnswer,
): Promise<Answer> {
  const { contents } = await readWholeKept(ask, uri);
  const [{ text } = {}] = contents as { text?: string }[];
  const { answer } = readJson(text ?? '{}') as { answer?: unknown };
  if (!isJsonObject(answer)) throw new SyntaxError('it is no answer to a read');
  return answer;
}

function nextOf({ _meta: meta }: Answer): string | undefined {
  const range = isJsonObject(meta) ? meta[keptRangeMeta] : undefined;
  return isJsonObject(range) && typeof range.next === 'string' ? range.next : undefined;
}
