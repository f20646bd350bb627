/** Ids of messages and requests; `re:` makes the id of a reply. */
export const idPattern = /^(re:)?[!-~]{1,64}$/;
export const kindPattern = /^[a-z][a-z_]{0,31}$/;
export const rolePattern = /^[a-z0-9][a-z0-9_.-]{0,63}$/;
