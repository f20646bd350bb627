/** A rule for a name of the configuration, and the text for a name that breaks it. */
interface NameRule {
  readonly pattern: RegExp;
  readonly problem: string;
}

/** The rule for schemas, whose names need no quotes in SQL. */
export const schemaNames: NameRule = {
  pattern: /^(?!pg_)[a-z][a-z0-9_]{0,47}$/,
  problem:
    'must be lower-case letters, digits and _ (at most 48), beginning with a letter and not with pg_, as in signalbox',
};

/** Returns the schema of the orchestrators' journal, which is beside that of the brokers. */
export function journalSchemaOf(stores: string): string {
  return `${stores}_journal`;
}

/** The rule for names of brokers. */
export const brokerNames: NameRule = {
  pattern: /^[a-z0-9][a-z0-9_.-]{0,63}$/,
  problem:
    'must be lower-case letters, digits and _.- (at most 64), beginning with a letter or a digit, as in broker-1',
};
