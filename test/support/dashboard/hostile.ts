import type { ToolStack } from '../orchestrator/tool-stack.ts';

/** Texts that would do harm if they became part of the page, and invisible characters. */
export const hostileText =
  '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202Egnp.exe\u200B"\'`&#60;\u0007 javascript:hacked()';

/** The text that a person must see in its place. */
export const shownHostileText = '\\u202egnp.exe\\u200b';

/** Puts hostile texts into every field that an agent can write: ids, threads, bodies, reasons and statuses; and times of no calendar. */
export async function sendHostileTexts(stack: ToolStack): Promise<void> {
  const mallory = await stack.clientAt('mallory');
  const victim = await stack.clientAt('victim');
  const text = hostileText;
  const turn = {
    id: 'm1',
    from: 'walt',
    kind: 'ask',
    since: Date.now(),
    calls: [{ title: text, status: text }],
  };
  mallory.announce({
    ...{ worker: 'serve', command: text, turns: 1, last_output: text, last_output_at: Date.now() },
    private: { running: [turn] },
  });
  victim.announce({ text });
  const timeless = await stack.clientAt('timeless');
  timeless.announce({
    ...{ worker: 'serve', command: text, turns: 1, failing_since: -1e300, failing_reason: text },
    private: { running: [{ ...turn, since: -1e300 }] },
  });
  await using inbox = await victim.subscribe();
  await mallory.deliver({
    to: 'victim',
    kind: 'task',
    body: { text },
    id: '<b>"id\'</b>',
    thread: '<i>&"thread',
  });
  const { value } = await inbox.messages.next();
  await victim.nack([value!.seq!], { dead: true, reason: text });
  for (const body of [{ [text]: [text] }, text])
    await mallory.deliver({ to: 'victim', kind: 'note', body, thread: '<i>&"thread' });
}

/** Makes a dead letter for an agent, and returns its id. */
export async function makeDeadLetter(stack: ToolStack, reason: string, id: string): Promise<string> {
  const sender = await stack.client('ann');
  const receiver = await stack.clientAt('walt');
  await using inbox = await receiver.subscribe();
  await sender.deliver({ to: 'walt', kind: 'task', body: { chapter: 1 }, id });
  const { value } = await inbox.messages.next();
  await receiver.nack([value!.seq!], { dead: true, reason });
  return id;
}
