/** Reads a property of each value, by name. Names whose value has no such property are left out. */
export function definedValues<Value, Property>(
  values: Readonly<Record<string, Value>>,
  read: (value: Value) => Property | undefined,
): Record<string, Property> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => {
      const property = read(value);
      return property === undefined ? [] : [[name, property]];
    }),
  );
}
