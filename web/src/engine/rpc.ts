// Calls to a worker, each with one answer.

export interface Call { id: number; method: string; args: unknown[] }
export type Answer = { id: number; value: unknown } | { id: number; error: string };

/** The side of a worker that calls. A worker that fails rejects all calls. */
export class Caller {
  private waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  private next = 0;
  private failure: Error | null = null;

  constructor(private readonly worker: Worker, private readonly other?: (message: unknown) => void) {
    worker.onmessage = (event: MessageEvent<unknown>) => this.receive(event.data);
    worker.onerror = (event) => this.fail(new Error(event.message || 'the worker could not be loaded'));
  }

  call<T>(method: string, ...args: unknown[]): Promise<T> {
    if (this.failure) return Promise.reject(this.failure);
    const id = this.next++;
    return new Promise<T>((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, method, args } satisfies Call);
    });
  }

  /** Ends the worker; calls without an answer are rejected. */
  end(): void {
    this.worker.terminate();
    this.fail(new Error('stopped'));
  }

  private receive(message: unknown): void {
    if (!isAnswer(message)) {
      this.other?.(message);
      return;
    }
    const call = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if ('error' in message) call?.reject(new Error(message.error));
    else call?.resolve(message.value as never);
  }

  private fail(error: Error): void {
    this.failure = error;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

function isAnswer(message: unknown): message is Answer {
  return typeof message === 'object' && message !== null && 'id' in message;
}

type Methods = Record<string, (...args: never[]) => unknown>;

/** The side of a worker that answers. */
export function answer(scope: DedicatedWorkerGlobalScope, methods: Methods): void {
  scope.onmessage = async (event: MessageEvent<Call>) => {
    const { id, method, args } = event.data;
    try {
      const value = await methods[method]?.(...(args as never[]));
      scope.postMessage({ id, value } satisfies Answer);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      scope.postMessage({ id, error: text } satisfies Answer);
    }
  };
}
