import type { ChildProcess } from "node:child_process";
import { endProcess, forkScript, request } from "../processes.ts";
import type { Measurement, SocketTradersTask, Traded } from "./socket-traders.ts";

/** The process of socket-traders.ts. */
export class TraderProcess {
  private readonly child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.child = child;
  }

  static async start(task: SocketTradersTask): Promise<TraderProcess> {
    const traders = new TraderProcess(forkScript("bench/support/load/socket-traders.js", []));
    await request(traders.child, task);
    return traders;
  }

  measure(seconds: number, perSecond: number | null = null, series?: string): Promise<Traded> {
    return request<Traded>(this.child, {
      seconds,
      perSecond,
      ...(series !== undefined && { series }),
    } satisfies Measurement);
  }

  stop(): Promise<void> {
    return endProcess(this.child, "SIGKILL");
  }
}
