import { withRecoveryAdvice } from "../src/actor/host/recovery-advice.ts";
import { runActors } from "../src/actor/threads/thread-mains.ts";

export default withRecoveryAdvice(runActors);
