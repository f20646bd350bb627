import type { Response as AgentResponse } from 'undici';
import { tooLarge } from './errors.ts';

const bodylessStatus = [204, 205, 304];

/**
 * Makes a response of the global class, which other libraries expect, from one of the agent's. Its body fails with
 * `result_too_large` when it becomes larger than `maxBytes`; if that is announced, this function throws it.
 */
export function globalResponse(
  response: AgentResponse,
  url: URL,
  wasRedirected: boolean,
  maxBytes: number,
): Response {
  const { status, statusText } = response;
  const headers = new Headers([...response.headers]);
  if (Number(headers.get('content-length')) > maxBytes) {
    void response.body?.cancel();
    throw tooLarge(url.hostname, maxBytes);
  }
  const source = response.body as ReadableStream<Uint8Array> | null;
  const body = source && !bodylessStatus.includes(status) ? bounded(source, maxBytes, url.hostname) : null;
  const result = new Response(body, { status, statusText, headers });
  Object.defineProperty(result, 'url', { value: url.href });
  Object.defineProperty(result, 'redirected', { value: wasRedirected });
  return result;
}

function bounded(body: ReadableStream<Uint8Array>, maxBytes: number, host: string) {
  let bytes = 0;
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) throw tooLarge(host, maxBytes);
        controller.enqueue(chunk);
      },
    }),
  );
}
