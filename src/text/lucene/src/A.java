import java.io.*; import java.nio.*; import java.nio.charset.*;
import org.apache.lucene.analysis.*; import org.apache.lucene.analysis.en.*; import org.apache.lucene.analysis.tokenattributes.*;
public class A { public static void main(String[] a) throws Exception {
 Analyzer an=new EnglishAnalyzer(); DataInputStream in=new DataInputStream(new BufferedInputStream(System.in,1<<20));
 PrintStream out=new PrintStream(new BufferedOutputStream(System.out,1<<20),false,"UTF-8"); byte[] h=new byte[4];
 while(true){ int r=in.read(); if(r<0)break; h[0]=(byte)r; in.readFully(h,1,3); int n=ByteBuffer.wrap(h).order(ByteOrder.LITTLE_ENDIAN).getInt(); byte[] b=new byte[n]; in.readFully(b);
  TokenStream ts=an.tokenStream("f",new String(b,StandardCharsets.UTF_8)); CharTermAttribute t=ts.addAttribute(CharTermAttribute.class); ts.reset();
  while(ts.incrementToken()){out.print(t.toString());out.print(' ');} ts.end(); ts.close(); out.println(); }
 out.flush(); } }
