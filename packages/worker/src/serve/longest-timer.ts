/** The longest time that a timer of Node can have, in milliseconds: 24 days. A longer one would end at once. */
export const longestTimerMs = 2 ** 31 - 1;
