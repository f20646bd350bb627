const MiB = 1024 * 1024;

/** The meaning of `broker.keepBodies: true`. */
export const keptByDefault = {
  kinds: ['note', 'ask', 'reply', 'task'],
  ageMs: 24 * 60 * 60 * 1000,
  bytes: 256 * MiB,
};
