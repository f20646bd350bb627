import type { Tool } from './tool.ts';

/** Under this key of a tool's `_meta` stands the operator's own word on repeating it: `safe` or `never`. */
const operatorWordKey = 'signalbox/repeat';

/** What an operator says of a tool, over the head of the server that declares it. */
export type RepeatWord = 'safe' | 'never';

/**
 * Whether a call may be made again. The one rule behind every repetition: a call that was never sent may; one that was
 * sent may only if its tool declares `readOnlyHint` or `idempotentHint`, unless the operator said otherwise.
 */
export function mayRepeat(tool: Tool, sent: boolean): boolean {
  if (!sent) return true;
  const word = tool._meta?.[operatorWordKey];
  if (word === 'never' || word === 'safe') return word === 'safe';
  return tool.annotations?.readOnlyHint === true || tool.annotations?.idempotentHint === true;
}

/** The tool with the operator's word on it, or without one. A word that its server wrote there itself is removed. */
export function withRepeatWord(tool: Tool, word: RepeatWord | undefined): Tool {
  if (word === undefined && tool._meta?.[operatorWordKey] === undefined) return tool;
  const { [operatorWordKey]: _claimed, ...meta } = tool._meta ?? {};
  return { ...tool, _meta: word === undefined ? meta : { ...meta, [operatorWordKey]: word } };
}
