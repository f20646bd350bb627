import {
  bodyLimits,
  bodyLimitsFor,
  isDeeperThan,
  jsonSize,
  type McpReply,
  readJson,
  toolCallError,
  withoutTokens,
} from '@signalbox/protocol';

/** A reply that can be delivered, with its JSON text. */
export interface BoundedReply {
  reply: McpReply;
  text: string;
}

/**
 * Returns the reply without tokens, which a server may have read somewhere. Returns a `result_too_large` error instead if the reply could
 * not reach the worker: it has more bytes than the broker accepts in one message (`maxBytes`), or nests deeper or has more nodes than
 * readers of bodies accept there.
 */
export function boundedReply(reply: McpReply, maxBytes: number): BoundedReply {
  const written = textOf(reply);
  if (written === undefined) return tooDeep(reply);
  // No escape of JSON stands for a character of a token, so a token cannot hide in this text.
  const text = withoutTokens(written);
  // A character takes at most three bytes, so the bytes of most replies need not be counted.
  const bytes = text.length * 3 > maxBytes ? Buffer.byteLength(text) : 0;
  if (bytes > maxBytes) {
    return tooLarge(`the result is ${bytes} bytes long; at most ${maxBytes} can be delivered`, reply);
  }
  // Each level takes two characters, so the levels of a short reply need not be counted.
  if (text.length > 2 * bodyLimits.maxDepth && isDeeperThan(reply, bodyLimits.maxDepth)) {
    return tooDeep(reply);
  }
  // Each node takes a character at least, so the nodes of most replies need not be counted.
  const limits = bodyLimitsFor(maxBytes);
  if (text.length > limits.maxNodes && jsonSize(text, limits).nodes > limits.maxNodes) {
    return tooLarge(`the result has more than ${limits.maxNodes} values and names`, reply);
  }
  return { reply: text === written ? reply : (readJson(text) as McpReply), text };
}

/** Returns the JSON text of a reply; `undefined` if it nests too deeply for the stack. */
function textOf(reply: McpReply): string | undefined {
  try {
    return JSON.stringify(reply);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function tooDeep(reply: McpReply): BoundedReply {
  return tooLarge(`the result nests deeper than ${bodyLimits.maxDepth - 1} levels`, reply, askForLess);
}

const askForLess = 'Ask for less at once: a filter, a smaller range or a page.';
const raise = 'The operator of the gateway can raise broker.limits.message.bytes.';

function tooLarge(message: string, before: McpReply, hint = `${askForLess} ${raise}`): BoundedReply {
  const reply = {
    error: toolCallError('result_too_large', message, {
      mayHaveRun: 'result' in before || 'input_required' in before,
      hint,
    }),
  };
  return { reply, text: JSON.stringify(reply) };
}
