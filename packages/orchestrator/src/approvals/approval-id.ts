/** Letters and digits that people do not confuse. */
const alphabet = '23456789abcdefghjkmnpqrstvwxyz';
const length = 6;

/** Makes an id that people can read out and type. `random` returns whole numbers below its argument. */
export function newApprovalId(random: (below: number) => number): string {
  return Array.from({ length }, () => alphabet[random(alphabet.length)]).join('');
}
