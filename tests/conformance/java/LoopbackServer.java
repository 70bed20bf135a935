import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import software.amazon.dynamodb.services.local.server.LocalDynamoDBRequestHandler;
import software.amazon.dynamodb.services.local.server.LocalDynamoDBServerHandler;

/**
 * DynamoDB Local in memory, on a free port of 127.0.0.1: its own main program listens on every address. Prints the URL when it
 * serves. Each access key has a database of its own.
 */
public final class LoopbackServer {
  public static void main(String[] words) throws Exception {
    LocalDynamoDBRequestHandler store = new LocalDynamoDBRequestHandler(0, true, null, false, false);
    Server server = new Server(new InetSocketAddress("127.0.0.1", 0));
    server.setHandler(new LocalDynamoDBServerHandler(store, "*"));
    server.start();
    System.out.println("http://127.0.0.1:" + ((ServerConnector) server.getConnectors()[0]).getLocalPort());
    System.out.flush();
    server.join();
  }
}
