import type { ServeAnswer } from '@signalbox/client';
import { figure } from '@signalbox/protocol/internal';
import { resultRuleOf } from '../../results/result-rules.ts';
import type { KeptPreview } from '../../results/result-store.ts';
import { answerWith } from '../answer-with.ts';
import type { Call } from '../call.ts';
import type { Step } from '../step.ts';
import { refusedReply } from '../tool-refusals.ts';

/** Ends a call whose result is kept with the preview of it. The result was kept before its reply was sent, so the call has ended. */
export const keptResult: Step<ServeAnswer> = {
  name: 'kept result',
  explain({ catalog, role }, { results }) {
    const rule = results && resultRuleOf(catalog.results, role);
    const says = rule
      ? `a result of more than ${figure(rule.maxInlineBytes)} bytes is kept, and the same request gets its preview again`
      : 'results of this role are not kept';
    return { verdict: 'passes', says };
  },
  before(next, { results, catalogs, fault }) {
    if (!results) return next;
    const find = async (call: Call, reading: Promise<KeptPreview | undefined>): Promise<ServeAnswer> => {
      const { name } = call;
      const kept = await reading;
      if (kept?.call.tool !== name.tool) return await next(call);
      const refusal = await refusedReply(catalogs, name.role, kept.call);
      if (refusal) return answerWith(fault, refusal, undefined, undefined);
      call.known = { result: kept.preview };
      return await next(call);
    };
    return (call) => {
      const reading = results.previewOf(call.name);
      return reading ? find(call, reading) : next(call);
    };
  },
};
