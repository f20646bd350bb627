type Json = Record<string, unknown>;

/** Makes one variant of a valid value for each field in it and each odd value. An absent field is one of them. */
export function variantsOf(
  whole: Json,
  fields: readonly string[],
  extra: readonly unknown[] = [],
): [string, Json][] {
  const odd = [undefined, null, true, 7, [], [null], {}, 'x'.repeat(10_000), 'text', ...extra];
  return fields.flatMap((field) =>
    odd.flatMap((value, i): [string, Json][] => {
      // An array is no JSON Schema, although clients accept it there.
      if (field.endsWith('.properties.x') && Array.isArray(value)) return [];
      const variant = JSON.parse(JSON.stringify(whole)) as Json;
      const path = field.split('.');
      const last = path.pop()!;
      const parent = path.reduce<Json>((inner, key) => inner[key] as Json, variant);
      if (value === undefined) delete parent[last];
      else parent[last] = value;
      return [[`${field.toLowerCase().replaceAll('.', '_')}_${i}`, variant]];
    }),
  );
}
