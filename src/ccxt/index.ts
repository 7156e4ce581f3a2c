import { PerpdUnwatch } from "./unwatch.ts";

/** The exchange as a ccxt class: `new perpd({ apiKey, secret, hostname: "127.0.0.1:8080" })`. */
export class perpd extends PerpdUnwatch {}
export default perpd;
