/** Adds a number to an ascending list that usually ends below it. A number of the list is not added again. */
export function insert(list: number[], added: number): void {
  let at = list.length;
  while (at > 0 && list[at - 1]! > added) at--;
  if (list[at - 1] !== added) list.splice(at, 0, added);
}
