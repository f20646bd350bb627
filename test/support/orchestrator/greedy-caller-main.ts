import { connectBroker, requestAddress } from '@signalbox/client';
import { mcpReplySchema } from '@signalbox/protocol';

/**
 * Makes eight calls of 3.7 MiB at a time, flat out: half of them with a million empty objects, half with one long text. Sends how often
 * each outcome came, again and again, until its parent ends it.
 */
const [url = '', token = '', tool = ''] = process.argv.slice(2);
const MiB = 1024 * 1024;
const client = await connectBroker({ url, token, agent: requestAddress('greedy') });
const bodies = [Array(1_290_000).fill({}), 'x'.repeat(3.7 * MiB)].map((big) => ({
  op: 'call',
  tool,
  arguments: { big },
}));
const outcomes: Record<string, number> = {};

async function callOn(lane: number): Promise<void> {
  for (let n = lane; ; n++) {
    const outcome = await client.request('orchestrator', 'mcp_request', bodies[n % 2], { timeoutMs: 60_000 });
    const reply = outcome.status === 'completed' ? mcpReplySchema.parse(outcome.reply.json) : undefined;
    const code = reply === undefined ? outcome.status : 'error' in reply ? reply.error.code : 'ok';
    outcomes[code] = (outcomes[code] ?? 0) + 1;
    process.send?.(outcomes);
  }
}

process.send?.(outcomes);
for (let lane = 0; lane < 8; lane++) void callOn(lane);
