import type { ReplyEnd, ServeAnswer } from '@signalbox/client';
import type { JournalEntry } from '@signalbox/store/journal';
import { JournaledCall } from '../../journal/journaled-call.ts';
import { sentReply } from '../../tasks/task-call.ts';
import { answerWith } from '../answer-with.ts';
import type { Call } from '../call.ts';
import { replyNotKept } from '../call-outcome.ts';
import type { CallDeps, Step } from '../step.ts';
import { refusedReply } from '../tool-refusals.ts';

/** Gives a request that comes again after its call has ended the reply that the journal has. */
export const repeatedReply: Step<ServeAnswer> = {
  name: 'repeated reply',
  explain: (_question, { journal }) => ({
    verdict: 'passes',
    says: journal
      ? 'a request that comes again gets its first reply, while the journal has that'
      : 'without a journal no reply is remembered',
  }),
  before(next, deps) {
    const { journal, ownership, now, monotonic, fault } = deps;
    const goOn = (call: Call, earlier: JournalEntry | undefined): ReturnType<typeof next> => {
      const { name, request, body } = call;
      call.journaled = journal && new JournaledCall(journal, name, earlier);
      call.isForeign = ownership.mayHaveStartedElsewhere(request.message.seq, body.maybe_started_in);
      const end = earlier?.end;
      if (end?.reply !== undefined) return replyAgain(deps, call, end.reply);
      // The journal deletes a delivered reply. Then only the ack is missing, unless the reply was delivered to a store of which this one is
      // an older copy.
      if (end && !call.isForeign) {
        if (body.maybe_started_in === undefined) return undefined;
        // It ended on a lane that was lost, and its requester waits for the reply.
        return answerWith(fault, { error: replyNotKept(name.requestId) }, undefined, undefined);
      }
      return next(call);
    };
    return (call) => {
      call.arrived = { wall: now(), monotonic: monotonic() };
      fault?.('orchestrator.call.received');
      const earlier = call.request.isFirst ? undefined : journal?.find(call.name);
      return earlier instanceof Promise ? earlier.then((entry) => goOn(call, entry)) : goOn(call, earlier);
    };
  },
};

async function replyAgain(
  { catalogs, fault }: CallDeps,
  { name, journaled }: Call,
  reply: string,
): Promise<ServeAnswer> {
  const refusal = await refusedReply(catalogs, name.role, journaled?.earlier);
  const settle = refusal ? undefined : (how: ReplyEnd) => journaled?.settle(how, () => undefined);
  return answerWith(fault, refusal ?? sentReply(reply), undefined, settle);
}
