import { Agent } from 'node:http';
import { modernCall, rawRequest } from './http-face.ts';

/**
 * Posts the largest bodies that an HTTP face takes, flat out over 16 connections: half of them are millions of empty objects, half one long
 * text for a tool that does not exist, so that only the face works. Sends how often each status was answered, again and again, until its
 * parent ends it.
 */
const [port = '', token = ''] = process.argv.slice(2);
const MiB = 1024 * 1024;
const { headers, body } = modernCall(token, 'mcp_counter__nothing', { big: 'BIG' });
const bodies = [`[${'{},'.repeat(1.3 * MiB)}{}]`, JSON.stringify('x'.repeat(3.9 * MiB))].map((big) =>
  body.replace('"BIG"', big),
);
const agent = new Agent({ keepAlive: true, maxSockets: 16 });
const statuses: Record<string, number> = {};

async function postOn(lane: number): Promise<void> {
  for (let n = lane; ; n++) {
    const { status } = await rawRequest(Number(port), { headers, body: bodies[n % 2]!, agent }).catch(
      ({ code }: NodeJS.ErrnoException) => ({ status: code }),
    );
    statuses[String(status)] = (statuses[String(status)] ?? 0) + 1;
    process.send?.(statuses);
  }
}

process.send?.(statuses);
for (let lane = 0; lane < 16; lane++) void postOn(lane);
