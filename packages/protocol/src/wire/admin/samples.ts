import { z } from 'zod';
import { sampledMetrics, samplesFields, samplesReplySchema } from '../samples.ts';

/** Describes the operation that reads the samples of the broker. */
export function samplesOperation() {
  return {
    samples: {
      meaning:
        'Reads how metrics of the broker were in the last day, from samples that it keeps itself. Several brokers on one store have samples of their own.',
      params: z.object(samplesFields(sampledMetrics.broker)),
      result: samplesReplySchema(),
    },
  };
}
