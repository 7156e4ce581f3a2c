// Refuses invalid UTF-8. It keeps a byte order mark, which JSON.parse refuses.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Throws a TypeError when `bytes` are not valid UTF-8. */
export const decodeUtf8 = (bytes: ArrayBuffer | Uint8Array): string => utf8.decode(bytes);

/**
 * Text in a form that uWebSockets.js sends correctly, with `length` in bytes. Only ASCII stays a string, because the build
 * for Node 24 writes é and the like in Latin-1.
 */
export const encodeUtf8 = (text: string | Uint8Array): string | Uint8Array =>
  Buffer.byteLength(text) === text.length ? text : Buffer.from(text as string);
