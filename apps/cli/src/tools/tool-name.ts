import { SignalboxError } from '@signalbox/protocol';

/** Throws `usage` if a text cannot be the name of a tool. */
export function checkToolName(name: string): void {
  if (name !== '' && name.length <= 256) return;
  throw new SignalboxError('usage', 'the name of the tool is empty or longer than 256 characters', {
    details: { hint: 'signalbox tools list shows the names' },
  });
}
