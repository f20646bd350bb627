import { isJsonObject, keptRangeMeta, keptResultUri, parseKeptResultUri } from '@signalbox/protocol';

type Answer = Record<string, unknown>;

/**
 * Reads a kept result from its beginning to its end, part by part. A URI that names a range or a content block is read as it is. `ask`
 * reads one URI.
 */
export async function readKeptResult(ask: (uri: string) => Promise<Answer>, uri: string): Promise<Answer> {
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

function nextOf({ _meta: meta }: Answer): string | undefined {
  const range = isJsonObject(meta) ? meta[keptRangeMeta] : undefined;
  return isJsonObject(range) && typeof range.next === 'string' ? range.next : undefined;
}
