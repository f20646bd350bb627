import { z } from 'zod';
import { idSchema } from '../names/name-schemas.ts';
import { frameLimits } from './frame-limits.ts';

/**
 * The schema of `subscribe.journal`. A journal has a new generation at each subscription, so that an older copy of it, or of the
 * broker's store, is recognised.
 */
export const journalClaimSchema = z
  .object({
    previous: z
      .array(idSchema)
      .max(frameLimits.journalGenerations)
      .describe('The generations to which the broker may have bound the inbox for this journal.'),
    next: idSchema.describe(
      'A new generation, to which the broker binds the inbox now. A journal in the database of the brokers has one generation forever.',
    ),
  })
  .meta({
    id: 'JournalClaim',
    title: 'journal claim',
    description:
      'The generations of a consumer’s journal. It writes a new one at each subscription, and gives up the previous ones when the broker has answered.',
  });

/** The schema of `subscribed.journal`. */
export const journalBindingSchema = z
  .object({
    generation: idSchema.describe('The `next` of the subscriber.'),
    foreign_up_to: z
      .number()
      .describe(
        'A consumer with another journal, or an older copy of this one, may have handled messages up to this sequence number. 0: none.',
      ),
    epoch: idSchema.describe(
      'The generation with which a foreign journal, or this one in a foreign state, was bound last. A lane belongs to one epoch.',
    ),
  })
  .meta({
    id: 'JournalBinding',
    title: 'journal binding',
    description:
      'The generation to which an inbox is bound, and how far its messages are foreign to the journal.',
  });

/** The generations that a journal claims for an inbox. */
export type JournalClaim = z.infer<typeof journalClaimSchema>;
/** The generation to which an inbox is bound, and the number up to which its messages are foreign. */
export type JournalBinding = z.infer<typeof journalBindingSchema>;
