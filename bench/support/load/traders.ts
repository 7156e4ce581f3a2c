import type { ChildProcess } from "node:child_process";
import { ask, end, startTalking } from "../servers/processes.ts";
import type { SocketTradersTask, Traded } from "./socket-traders.ts";

/** Whoever trades over WebSockets, in a process of their own. */
export class Traders {
  private readonly child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.child = child;
  }

  static async gather(task: SocketTradersTask): Promise<Traders> {
    const traders = new Traders(startTalking("bench/support/load/socket-traders.js", []));
    await ask(traders.child, task);
    return traders;
  }

  measure(seconds: number, perSecond: number | null = null): Promise<Traded> {
    return ask<Traded>(this.child, { seconds, perSecond });
  }

  leave(): Promise<void> {
    return end(this.child, "SIGKILL");
  }
}
