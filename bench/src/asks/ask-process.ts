import { Agent, request as httpRequest } from 'node:http';
import { text } from 'node:stream/consumers';
import { connectBroker } from '@signalbox/client';
import { measure } from '../measure.ts';
import { serveParent, setupOf } from '../processes.ts';

/** The part of a process: it answers asks, or it asks by the library or over A2A. */
export type AskPart =
  | { part: 'agent' | 'library'; url: string; agent: string; token: string }
  | { part: 'a2a'; url: string; token: string };

const timeoutMs = 60_000;
const body = 'x'.repeat(300);

/** Returns a function that sends a blocking message over JSON-RPC, and checks that its task is completed. */
function overA2a(url: string, token: string): () => Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const { hostname, port, pathname } = new URL(url);
  const headers = {
    ...{ 'content-type': 'application/json', authorization: `Bearer ${token}`, 'a2a-version': '1.0' },
  };
  let id = 0;
  return async () => {
    const message = { messageId: `${process.pid}-${++id}`, role: 'ROLE_USER', parts: [{ text: body }] };
    const sent = JSON.stringify({ jsonrpc: '2.0', id, method: 'SendMessage', params: { message } });
    const answer = await new Promise<string>((resolve, reject) => {
      const options = { host: hostname, port, path: pathname, method: 'POST', agent };
      const length = { 'content-length': `${Buffer.byteLength(sent)}` };
      httpRequest({ ...options, headers: { ...headers, ...length } }, (response) =>
        text(response).then(resolve, reject),
      )
        .once('error', reject)
        .end(sent);
    });
    if (!answer.includes('TASK_STATE_COMPLETED')) throw new Error(`no answer: ${answer.slice(0, 200)}`);
  };
}

async function begin(setup: AskPart): Promise<{ ask?: () => Promise<void>; stop: () => Promise<void> }> {
  if (setup.part === 'a2a') return { ask: overA2a(setup.url, setup.token), stop: async () => {} };
  const client = await connectBroker(setup);
  const stop = (): Promise<void> => client.close();
  if (setup.part === 'agent') {
    await client.serve(['ask'], async () => ({ kind: 'reply', body }));
    return { stop };
  }
  const ask = async (): Promise<void> => {
    const { status } = await client.request('rosa', 'ask', body, { timeoutMs });
    if (status !== 'completed') throw new Error(`no answer: ${status}`);
  };
  return { ask, stop };
}

const { ask, stop } = await begin(setupOf<AskPart>());
serveParent({
  ...(ask && { obey: (order: unknown) => measure(ask, order as { lanes: number; seconds: number }) }),
  stop,
});
